/** A language model that an agent can use. */
export interface ModelInfo {
  readonly name: string
  readonly provider: string
}

/** What the service needs of the gateway: which models there are. */
export interface ModelCatalogue {
  /** The chat and responses models, in the catalogue's order. */
  list(): readonly ModelInfo[]
  /** One of them; undefined when there is no such model, also after a second look for servers that came meanwhile. */
  find(name: string): Promise<ModelInfo | undefined>
}

/** What the service needs of the portal about spaces as such. */
export interface SpaceDirectory {
  /** Those of the given spaces whose data every service removes: they were deleted, and nobody can bring them back. */
  goneAmong(spaceIds: readonly string[]): Promise<string[]>
}
