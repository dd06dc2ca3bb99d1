import { MailAddress, QxId } from '@atrium/access'
import { named, pageQuery, requiredText } from '@atrium/kernel/http'
import Type, { type Static } from 'typebox'
import { listOf, optionalText, Role, Timestamp } from './common.ts'

export const SpaceUserInput = named(
  'AddSpaceUser',
  Type.Object({
    qNumber: QxId,
    name: requiredText(200),
    department: optionalText(200),
    mailAddress: MailAddress,
    role: Role,
  }),
)

export const SpaceUserChanges = named('UpdateSpaceUser', Type.Object({ role: Role }))

const core = {
  userId: Type.String(),
  qNumber: Type.String(),
  name: Type.String(),
  department: Type.String(),
  mailAddress: Type.String(),
  role: Role,
}

export const SpaceUser = named('SpaceUser', Type.Object(core))
export const AddedSpaceUser = named('AddedSpaceUser', Type.Object({ ...core, createdAt: Timestamp }))
export const ModifiedSpaceUser = named('ModifiedSpaceUser', Type.Object({ ...core, modifiedAt: Timestamp }))

export const SpaceUserQuery = Type.Object({
  ...pageQuery('userId', 'qNumber', 'name', 'department', 'mailAddress', 'role').properties,
  role: Type.Optional(Role),
})
export const SpaceUserList = listOf('SpaceUserPage', SpaceUser)

export type SpaceUserInput = Static<typeof SpaceUserInput>
export type SpaceUserQuery = Static<typeof SpaceUserQuery>
