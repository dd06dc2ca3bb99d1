type Defined<T> = { [K in keyof T]?: Exclude<T[K], undefined> }

/** Leaves out what is undefined: fields that a PATCH does not name. */
export const withoutUndefined = <T extends object>(fields: T): Defined<T> =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as Defined<T>
