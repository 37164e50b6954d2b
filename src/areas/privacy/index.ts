/** The public API of privacy: the deletion of accounts. */
export { deleteRequestedAccounts } from './delete.ts';
