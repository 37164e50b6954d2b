/** The door of referrals: what follows from the scores of wallets that were referred. */
export { referralConsumer } from './consume.ts';
