/** The door of referrals: who was referred, and what follows from the scores of wallets that were. */
export { referredBefore } from './bindings.ts';
export { referralConsumer } from './consume.ts';
