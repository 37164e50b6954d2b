/** The public API of social: links between external accounts and wallets, and the deliveries of X. */
export {
  findHandles,
  findLinkedAccount,
  findLinkedWallets,
  findWalletByHandle,
  findWalletsLinkedBefore,
  type LinkedAccount,
  linkAccount,
  listLinkedAccounts,
} from './accounts.ts';
export { prepareEngagement } from './engagement/deliveries.ts';
export { findFollowers } from './follows.ts';
export { unlinkAll } from './link.ts';
export { purgeExpiredSocial } from './purge-expired.ts';
