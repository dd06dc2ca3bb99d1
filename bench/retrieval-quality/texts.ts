/** Writes a collection's documents, or with `queries` its queries, as lines of {id, text} for `embed.py`. */
import { readCollection } from './collections.ts'

const [folder = '', what = 'documents'] = process.argv.slice(2)
const collection = await readCollection(folder)
if (collection === undefined) throw new Error(`no collection in ${folder}`)
const texts = what === 'queries' ? collection.queries : collection.documents
for (const [id, text] of texts) process.stdout.write(`${JSON.stringify({ id, text })}\n`)
