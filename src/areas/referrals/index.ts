/** The public API of referrals: which wallets were referred, and the activity consumer. */
export { findWalletsReferredBefore } from './bindings.ts';
export { referralConsumer } from './consumer.ts';
