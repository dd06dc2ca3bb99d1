import { OperatorError } from '@atrium/kernel/errors'

/** A command that was called the wrong way: exit code 2. */
export class UsageError extends OperatorError {}
