import { MailAddress, QxId } from '@atrium/access'
import { named, pageQuery, requiredText } from '@atrium/kernel/http'
import Type, { type Static } from 'typebox'
import { listOf, optionalText, Timestamp, Uuid } from './common.ts'

export const SuperuserInput = named(
  'CreateSuperuser',
  Type.Object({
    qNumber: QxId,
    name: requiredText(200),
    department: optionalText(200),
    mailAddress: MailAddress,
  }),
)

export const SuperuserChanges = named('UpdateSuperuser', Type.Partial(SuperuserInput))

export const Superuser = named(
  'Superuser',
  Type.Object({
    userId: Type.String(),
    qNumber: Type.String(),
    name: Type.String(),
    department: Type.String(),
    mailAddress: Type.String(),
    superuser: Type.Literal(true),
    createdBy: Type.String({ description: 'User id of who appointed them; of a client, its id' }),
    modifiedBy: Type.String(),
    createdAt: Timestamp,
    modifiedAt: Timestamp,
  }),
)

export const SuperuserQuery = pageQuery(
  'userId',
  'qNumber',
  'name',
  'department',
  'mailAddress',
  'superuser',
  'createdBy',
  'modifiedBy',
  'createdAt',
  'modifiedAt',
)
export const SuperuserList = listOf('SuperuserPage', Superuser)
export const SuperuserParams = Type.Object({ userId: Uuid })

export type SuperuserInput = Static<typeof SuperuserInput>
export type SuperuserChanges = Static<typeof SuperuserChanges>
