import { expect, test } from 'vitest'
import { createGuard } from './guard.ts'
import type { AccessTable } from './table.ts'

test('an operation without a row in the access table stops the start, for it would be open to all', () => {
  const table: AccessTable = { readThing: 'public' }
  const never = (): never => {
    throw new Error('nobody is asked')
  }
  const guard = createGuard(
    table,
    { authenticate: never, directory: { roleIn: never, isSuperuser: never } },
    { admit: never },
  )
  expect(guard('readThing').config).toEqual({ operationId: 'readThing', public: true })
  expect(() => guard('writeThing')).toThrow('the operation writeThing has no row in the access table')
})
