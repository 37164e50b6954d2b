/** The door of social: which accounts elsewhere belong to which wallet. */
export { type Account, findLinked, findWalletByHandle, type LinkedAccount, linkAccount, linkedAmong, linkedBefore, listLinked } from './accounts.ts';
export { prepareEngagement } from './engagement/deliveries.ts';
export { expireSocial } from './expire.ts';
