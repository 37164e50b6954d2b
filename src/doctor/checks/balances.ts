import { type Balance, readBalances, readStoredBalances } from '#areas/lottery';
import { type Check, type Finding, off, ok, warning, wrong } from '#doctor/check.ts';
import type { App } from '#platform/app.ts';
import { statement } from '#platform/db/sql.ts';
import { parseAddress } from '#platform/solana/primitives.ts';
import { decodeNonce } from '#platform/solana/system-program.ts';
import { addressesOfRoles } from './keys.ts';

/** Days left below which a balance is wrong, or a warning. The alerts CoinopBalanceEnds and CoinopBalanceLow have the same thresholds. */
const WRONG_DAYS = 2;
const LOW_DAYS = 7;
/** SOL of the fee payer below which its balance is low whatever was spent, lamports. The alert CoinopFeePayerLow has the same threshold. */
const LOW_LAMPORTS = 1e9;

const NAMES = {
  sol: 'the SOL of the fee payer (lamports)',
  usdc: 'the USDC of the treasury (base units)',
  reward: 'the reward tokens of the treasury (base units)',
};

/** Checks the balances that the service depends on. A process without the key of the fee payer reads the balances that a worker stored. */
export const balances: Check = {
  name: 'balances',
  settings: ['SOLANA_RPC_URL', 'REWARD_MINT', 'USDC_MINT', 'FEE_PAYER_KEY', 'TREASURY_ADDRESS', 'DATABASE_URL', 'REDIS_URL'],
  remedy: 'Correct the setting or dependency that the sentence names.',
  async run(app) {
    const { secrets, rewardMint, usdcMint } = app.config.chain;
    if (rewardMint === null || usdcMint === null) return [off('REWARD_MINT or USDC_MINT is not set')];
    const read = secrets.feePayer === null ? await readStoredBalances(app) : await readBalances(app);
    if (read === null) return [off('no worker has read the balances yet')];
    return read.balances.map(findingOf);
  },
};

function findingOf({ asset, held, promised, daysLeft }: Balance): Finding {
  const days = daysLeft === null ? '' : `, enough for ${daysLeft.toFixed(1)} days`;
  const what = `${NAMES[asset]}: ${held}${asset === 'sol' ? '' : `, of which ${promised} are promised`}${days}`;
  const remedy = asset === 'sol' ? 'Send SOL to the fee payer.' : 'Send tokens to the treasury.';
  if (held < promised || (daysLeft !== null && daysLeft < WRONG_DAYS) || (asset === 'sol' && held === 0)) return wrong(what, remedy);
  const isLow = held === 0 || (daysLeft !== null && daysLeft < LOW_DAYS) || (asset === 'sol' && held < LOW_LAMPORTS);
  return isLow ? warning(what, remedy) : ok(what);
}

const selectLanes = statement<{ lane: number; address: string; authority: string; reason: string | null }>(
  'doctor_lanes',
  'select lane::int, address, authority, reason from payout_lanes order by lane limit 64',
);

/** Checks the nonce accounts of the payout lanes. */
export const lanes: Check = {
  name: 'payout-lanes',
  settings: ['SOLANA_RPC_URL', 'DATABASE_URL', 'FEE_PAYER_KEY', 'PAYOUT_LANES'],
  remedy: 'Correct DATABASE_URL and SOLANA_RPC_URL.',
  async run(app) {
    const rows = await app.db.query(selectLanes);
    const { lanes: wanted } = app.config.chain.payouts;
    if (rows.length === 0) return [off(`none of ${wanted} payout lanes is open; a worker opens each one for its first payment`)];
    const { accounts } = await app.chain.node.accounts(
      rows.map(({ address }) => parseAddress(address)),
      'finalized',
    );
    const findings = rows.flatMap((row, i) => laneFindings(app, row, decodeNonce(accounts[i] ?? null)?.authority ?? null));
    return findings.length > 0 ? findings : [ok(`${rows.length} of ${wanted} payout lanes are open`)];
  },
};

function laneFindings(
  app: App,
  { lane, authority, reason }: { lane: number; authority: string; reason: string | null },
  found: string | null,
): Finding[] {
  const feePayer = addressesOfRoles(app).find(({ role }) => role === 'feePayer');
  if (reason !== null) return [wrong(`payout lane ${lane} waits: ${reason}`, 'Follow docs/operations.md, A payout lane waits.')];
  if (found === null)
    return [warning(`payout lane ${lane} is not open on the chain yet`, 'Wait until a worker has opened it; it needs SOL of the fee payer.')];
  if (feePayer !== undefined && authority !== feePayer.address) {
    return [
      warning(`payout lane ${lane} belongs to another fee payer`, 'After a rotation a worker opens a new one; otherwise correct FEE_PAYER_KEY.'),
    ];
  }
  return [];
}
