/** The public API of wallets: the names with which wallets are shown. */
export { checkNames, chooseName, readNames } from './names.ts';
