import { MailAddressOrNone, QxId } from '@atrium/access'
import { named, Pagination, requiredText } from '@atrium/kernel/http'
import Type from 'typebox'

const oneOf = <const V extends readonly string[]>(...values: V) =>
  Type.Unsafe<V[number]>({ type: 'string', enum: values })

const Name = requiredText(200)

/** A person who signs in at the embedded issuer. */
export const Account = named(
  'Account',
  Type.Object({
    qxId: Type.String(),
    name: Type.String(),
    mailAddress: Type.String(),
    disabled: Type.Boolean({ description: 'Neither signs in nor keeps a token' }),
    passwordChangedAt: Type.String({ format: 'date-time' }),
    createdAt: Type.String({ format: 'date-time' }),
    updatedAt: Type.String({ format: 'date-time' }),
  }),
)

/** With the link by which the person chooses a password, unless it went out by mail. */
export const AccountWithLink = named(
  'AccountWithLink',
  Type.Object({
    ...Account.properties,
    delivery: oneOf('answer', 'mail'),
    passwordLink: Type.Optional(
      Type.String({ description: 'Works once; shown this once, and absent where it went out by mail' }),
    ),
    linkExpiresAt: Type.String({ format: 'date-time' }),
  }),
)

export const AccountInput = named(
  'CreateAccount',
  Type.Object({
    qxId: Type.Unsafe<string>({ ...QxId, description: 'The user name, and the Q number in the portal' }),
    name: Name,
    mailAddress: Type.Optional(MailAddressOrNone),
  }),
)

export const AccountChanges = named(
  'UpdateAccount',
  Type.Partial(Type.Object({ name: Name, mailAddress: MailAddressOrNone, disabled: Type.Boolean() })),
)

export const AccountParams = Type.Object({ qxId: Type.String() })

export const AccountQuery = Type.Object({
  limit: Type.Integer({ minimum: 1, maximum: 1000, default: 100 }),
  page: Type.Integer({ minimum: 1, maximum: 1_000_000_000, default: 1 }),
  search: Type.Optional(Type.String({ maxLength: 200, description: 'In user name, name and mail address' })),
  sortBy: Type.Optional(oneOf('qxId', 'name', 'mailAddress', 'createdAt', 'updatedAt')),
  sortOrder: Type.Optional(oneOf('asc', 'desc')),
})

export const AccountList = named(
  'AccountPage',
  Type.Object({ data: Type.Array(Account), pagination: Pagination }),
)

export const LinkQuery = Type.Object({ token: Type.Optional(Type.String({ maxLength: 400 })) })
