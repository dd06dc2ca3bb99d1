import { withoutKnown } from './check.ts'
import { checkRepository } from './repository.ts'
import { EXCEPTIONS } from './rules.ts'

const { violations, unneeded } = withoutKnown(checkRepository(process.cwd()), EXCEPTIONS)
for (const { file, line, specifier, reason } of violations) {
  process.stderr.write(`${file}:${line}: ${specifier}: ${reason}\n`)
}
for (const exception of unneeded) {
  process.stderr.write(`packages/boundaries/src/rules.ts: nothing needs this exception: ${exception}\n`)
}
if (violations.length + unneeded.length > 0) process.exitCode = 1
