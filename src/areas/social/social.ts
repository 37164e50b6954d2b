/** The door of social: which accounts elsewhere belong to which wallet. */
export { type Account, findLinked, type LinkedAccount, linkAccount, linkedAmong, listLinked } from './accounts.ts';
export { prepareEngagement } from './engagement/deliveries.ts';
