/** The door of referrals: who was referred, and what follows from the scores of wallets that were. */
export { referredBefore } from './bound.ts';
export { referralConsumer } from './consume.ts';
