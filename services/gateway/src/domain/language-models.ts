import type { ModelDirectory } from './model-directory.ts'

/** A model that takes text and answers with text. */
export interface LanguageModel {
  readonly name: string
  readonly provider: string
}

/** What other services see of the catalogue. */
export interface LanguageModels {
  /** In the catalogue's order. */
  list(): readonly LanguageModel[]
  /** Looks for model servers again before it says that there is no such model. */
  find(name: string): Promise<LanguageModel | undefined>
}

export function createLanguageModels(
  directory: Pick<ModelDirectory, 'row' | 'cn' | 'lookForCaller'>,
): LanguageModels {
  const byName = (): Map<string, LanguageModel> => {
    const models = new Map<string, LanguageModel>()
    for (const { id, kind, owned_by } of [...directory.row.listAll(), ...directory.cn.listAll()]) {
      if (models.has(id) || (kind !== 'chat' && kind !== 'responses')) continue
      models.set(id, { name: id, provider: owned_by })
    }
    return models
  }
  return {
    list: () => [...byName().values()],
    async find(name) {
      const known = byName().get(name)
      if (known !== undefined) return known
      await directory.lookForCaller()
      return byName().get(name)
    },
  }
}
