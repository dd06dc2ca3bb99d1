interface Authored {
  readonly created_by_id: string
  readonly created_by_name: string
  readonly modified_by_id: string
  readonly modified_by_name: string
}

export const presentAuthors = (row: Authored) => ({
  createdBy: { qxId: row.created_by_id, name: row.created_by_name },
  modifiedBy: { qxId: row.modified_by_id, name: row.modified_by_name },
})

/** Authors and times, as workspaces, links and keys show them. */
export const presentStamps = (row: Authored & { readonly created_at: Date; readonly modified_at: Date }) => ({
  ...presentAuthors(row),
  createdAt: row.created_at.toISOString(),
  updatedAt: row.modified_at.toISOString(),
})
