import { named } from '@atrium/kernel/http'
import Type from 'typebox'

export const SpacePermissions = named(
  'SpacePermissions',
  Type.Object({
    roles: Type.Array(Type.String(), { description: 'Roles in the space: owner or member, or none' }),
    isSuperuser: Type.Boolean(),
    isSpaceOwner: Type.Boolean(),
    isSpaceMember: Type.Boolean({ description: 'Member or owner' }),
  }),
)

export const UserPermissions = named(
  'UserPermissions',
  Type.Object({
    user: Type.Object({ qNumber: Type.String(), superuser: Type.Boolean() }),
    authenticated: Type.Boolean(),
  }),
)
