import { fail } from '#lib/errors.ts';
import { statement } from '#platform/db/sql.ts';
import { distributorError } from '#platform/solana/distributor/index.ts';
import {
  type ChainError,
  type ComposeOutcome,
  type FailedTransaction,
  TOKEN_ACCOUNTS,
  type TransactionDraft,
  type TransactionType,
} from '#platform/solana/submission/index.ts';
import { claimSubmitted } from '../events.ts';
import { compose, EXPIRED, RETRY_MS } from './compose.ts';
import { recordPageOpening } from './pages.ts';
import { failureDelayMs } from './parking.ts';
import { CLAIM } from './rows.ts';
import { confirmClaims, failClaims, finishClaims, retractClaims } from './settlement.ts';
import { deleteOpenings, OPEN_FIRST, recordOpening } from './token-accounts.ts';

interface Submitted {
  id: string;
  epoch: number;
  index: number;
  wallet: string;
  amount: string;
  mint: string;
  first: boolean;
}
// Locks the claims in the order of epoch and index, as all statements do that update several claims.
const submitClaims = statement<Submitted>(
  'submit_claims',
  `with given as (select * from unnest($1::uuid[], $2::text[]) as g(id, signature)),
   before as (
     select c.id, c.state, g.signature from given g join claims c on c.id = g.id where c.state in ('queued', 'submitted')
     order by c.epoch, c.index for update of c)
   update claims c set state = 'submitted', signature = b.signature, changed_at = app_now() from before b, epoch_accounts a
   where c.id = b.id and a.epoch = c.epoch returning c.id::text, c.epoch, c.index, c.wallet, c.amount::text, a.mint, b.state = 'queued' as first`,
);

/** Error texts for clients, keyed by the name of the error that the program returned. Each error concerns the wallet's token account or the epoch. */
const REASONS: Readonly<Record<string, string>> = {
  NoDestination: OPEN_FIRST,
  BadDestination: 'the token account of the wallet has another owner',
  DestinationFrozen: 'the token account of the wallet is frozen',
  Expired: EXPIRED,
};

const spentOn = ({ spends = [] }: TransactionDraft, wanted: string) =>
  spends.reduce((sum, { asset, amount }) => (asset === wanted ? sum + amount : sum), 0n);

const programError = ({ instruction, code }: ChainError) => (instruction === null || code === null ? null : distributorError(code));

function reasonOf({ error }: FailedTransaction): string {
  const known = programError(error);
  return (known && REASONS[known.name]) ?? known?.message ?? error.message;
}

/**
 * The transaction type of a claim. The service pays the transaction fees; the program pays the tokens only to the wallet in the leaf. The bitmap on
 * the chain allows one payment per leaf, so neither a retry nor a claim of another sender can pay a leaf twice.
 */
export const claim: TransactionType = {
  ...CLAIM,
  scope: 'claims',
  afterFailure: 'again',
  maxLive: 3,
  failureDelayMs,
  compose,
  async simulationFailed(_app, _subject, error): Promise<ComposeOutcome | undefined> {
    const known = programError(error);
    if (!known) return undefined;
    if (known.name === 'Expired') return { do: 'fail', error: { ...error, name: known.name, message: EXPIRED } };
    // The next call of `compose` finds out whether the claim, the end of the epoch or the state of the token account is finalized.
    if (known.name in REASONS || known.name === 'AlreadyClaimed' || known.name === 'NotOpen') {
      return { do: 'wait', ms: RETRY_MS, reason: known.message };
    }
    return undefined;
  },
  async signed(tx, attempts) {
    const rows = await tx.query(submitClaims, [attempts.map(({ subject }) => subject), attempts.map(({ signature }) => signature)]);
    const byId = new Map(rows.map((row) => [row.id, row]));
    const signed = attempts.map((attempt) => {
      const row = byId.get(attempt.subject);
      if (!row) throw fail(409, 'the claim is no longer queued or submitted');
      return { ...attempt, row, tokenAccount: spentOn(attempt.draft, TOKEN_ACCOUNTS) };
    });
    // The draft spends SOL for two rents only: the token account and the bitmap page. So any SOL above the rent of the token account is for the page.
    const openPage = signed.filter(({ draft, tokenAccount }) => spentOn(draft, 'sol') > tokenAccount);
    // All batches lock epochs, and then token accounts, in the same order, so that they do not deadlock.
    for (const { row } of openPage.sort((a, b) => a.row.epoch - b.row.epoch)) await recordPageOpening(tx, row);
    const openAccount = signed.filter(({ tokenAccount }) => tokenAccount > 0n);
    for (const { row } of openAccount.sort((a, b) => (a.row.wallet < b.row.wallet ? -1 : 1))) await recordOpening(tx, row.id, row.mint);
    // An earlier attempt that may still land may open the account.
    const openNothing = signed.filter(({ tokenAccount, isFurther }) => tokenAccount === 0n && !isFurther);
    if (openNothing.length > 0)
      await deleteOpenings(
        tx,
        openNothing.map(({ subject }) => subject),
      );
    const first = rows.filter((row) => row.first);
    tx.emitAll(
      claimSubmitted,
      first.map(({ id, epoch, wallet, amount }) => ({ claimId: id, epoch, wallet, amount })),
      first.map(({ wallet }) => wallet),
    );
  },
  confirmed: confirmClaims,
  retracted: retractClaims,
  finalized: finishClaims,
  failed: (tx, failures) => failClaims(tx, failures, reasonOf),
};
