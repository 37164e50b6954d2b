/** The public API of names: parses `.sol` and `.sns` names and resolves them to wallets. */

export { NAME_RULE, type Name, parseName } from './name.ts';
export { SOL_MOVED_AT_SLOT, walletOfName } from './resolve.ts';
