/** The public API of referrals: the lookup of referred wallets, and the activity consumer. */
export { findWalletsReferredBefore } from './bindings.ts';
export { referralConsumer } from './consumer.ts';
