import { dayNumber } from '#lib/periods.ts';
import type { App } from '#platform/app.ts';
import { statement } from '#platform/db/sql.ts';
import type { Address } from '#platform/solana/primitives.ts';
import { type ComposeOutcome, submit, type TransactionDraft, type TransactionType } from '#platform/solana/submission/index.ts';
import { transferLamports } from '#platform/solana/system-program.ts';
import { readAccounts } from './accounts.ts';

const done: ComposeOutcome = { do: 'done', signature: null, slot: null };

/**
 * The transaction type that sends the balance of the epoch authority to the fee payer. The distributor program pays the rents of closed epochs to the
 * epoch authority, which needs no SOL. A subject is a UTC day. A repeated transaction only sends the rents that came back since.
 */
export const rentSweep: TransactionType = {
  name: 'rent-sweep',
  scope: 'rent-sweeps',
  priority: 'roots',
  afterFailure: 'again',
  compose,
  finalized: async () => undefined,
  failed: async () => undefined,
};

async function compose(app: App): Promise<TransactionDraft | ComposeOutcome> {
  const { publicKey: authority } = app.chain.key('epochAuthority');
  const { publicKey: feePayer } = app.chain.key('feePayer');
  // The SOL of a key that has another role too may be needed for this role.
  if ([feePayer, ...otherRoles(app)].some((key) => key.equals(authority))) return done;
  const [final, confirmed] = await Promise.all([readAccounts(app, 'finalized', [authority]), readAccounts(app, 'confirmed', [authority])]);
  const [lamports = 0n] = [final, confirmed].map(({ accounts }) => BigInt(accounts[0]?.lamports ?? 0)).sort((a, b) => (a < b ? -1 : 1));
  if (lamports === 0n || lamports < app.config.chain.rentSweepMin) return done;
  return {
    do: 'sign',
    feePayer: 'feePayer',
    signers: ['epochAuthority'],
    instructions: [transferLamports(authority, feePayer, lamports)],
    spends: [],
  };
}

/** Returns the addresses of the treasury and the committer, if this process knows them. */
function otherRoles({ chain, config }: App): Address[] {
  const roles = ['treasury', 'committer'] as const;
  return roles.filter((role) => config.chain.secrets[role] !== null || config.chain.addresses[role] !== null).map((role) => chain.address(role));
}

// Rents come back only when an epoch is closed, and its pages are closed soon after it.
const selectClosed = statement<{ closed: boolean }>(
  'select_recently_closed_epochs',
  `select exists (select 1 from epoch_accounts where closed_at > (select app_now()) - interval '7 days') as closed`,
);

/** Submits the transaction of the present UTC day that sends the rents of closed epochs to the fee payer, when an epoch was closed in the last week. */
export async function sweepRents(app: App): Promise<void> {
  if ((await app.db.query(selectClosed))[0]?.closed !== true) return;
  await app.tx((tx) => submit(tx, rentSweep, [String(dayNumber(app.clock.now()))]));
}
