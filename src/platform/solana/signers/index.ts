/** The public API of the roles' keys: which keys exist, and how a process signs with them. */

export { isSigner } from './config.ts';
export { CHECK_MESSAGE, localKey, RemoteKey, type RoleKey } from './role-key.ts';
export { PREFIX_OF, ROLES, type Role } from './roles.ts';
