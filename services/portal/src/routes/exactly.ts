/** Numbers go out with exactly the digits that were summed; the schema's own serialiser would make them doubles. */
export const exactly = { serializerCompiler: () => (data: unknown) => JSON.stringify(data) }
