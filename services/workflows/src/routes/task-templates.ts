import type { ServiceScope } from '@atrium/kernel/http'
import { errors, ListQuery } from '../contract/common.ts'
import { type TaskTemplate, TaskTemplateList } from '../contract/versions.ts'
import { aliasesOf, TEMPLATES } from '../domain/templates/registry.ts'
import type { TemplateRelease } from '../domain/templates/template.ts'
import { partOf } from './answers.ts'
import type { WorkflowsGuard } from './guard.ts'

const present = (release: TemplateRelease): TaskTemplate => ({
  name: release.name,
  version: release.version,
  aliases: aliasesOf(release),
  description: release.description,
  arguments: release.arguments.map(({ name, required, description, secrets }) => ({
    name,
    required,
    description,
    secrets,
  })),
  ...(release.oneOf === undefined ? {} : { oneOf: [...release.oneOf] }),
})

const items = [...TEMPLATES.values()].flat().map(present)

export function taskTemplateRoutes(scope: ServiceScope, guard: WorkflowsGuard): void {
  scope.route({
    method: 'GET',
    url: '/v1/task-templates',
    ...guard('listTaskTemplates'),
    schema: {
      tags: ['Task templates'],
      summary: 'List the releases of all task templates with their arguments, the newest of each first',
      querystring: ListQuery,
      response: { 200: TaskTemplateList, ...errors(400) },
    },
    handler: ({ query }) => ({ items: [...partOf(items, query)], totalCount: items.length }),
  })
}
