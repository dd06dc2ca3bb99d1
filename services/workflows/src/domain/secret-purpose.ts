/** What a secret's value is sealed for, so that it opens nowhere else. @param id `<spaceId>/<name>` */
export const secretPurpose = (id: string): string => `workflows/secret/${id}`
