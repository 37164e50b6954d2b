import { instant, type Queryable, statement } from '#platform/db/sql.ts';
import type { Tx } from '#platform/db/transaction.ts';
import { lockHeld } from '#platform/db/turns.ts';
import { gameState } from '../events.ts';
import { type ExpectedVersions, staleVersion } from '../versions.ts';

/** A wallet's saved state of a game. Before the first save, version is 0. */
export interface SavedState {
  /** JSON text as the client sent it; null before the first save. */
  state: string | null;
  version: number;
  /** Time of the last save, ISO 8601 in UTC; null before the first save. */
  updatedAt: string | null;
}

const UPDATED_AT = `${instant('updated_at')} as "updatedAt"`;

const selectState = statement<{ state: string; version: number; updatedAt: string }>(
  'select_game_state',
  `select state, version, ${UPDATED_AT} from game_states where wallet = $1 and game_id = $2`,
);

/** Reads a wallet's saved state of a game. */
export async function readState(db: Queryable, wallet: string, gameId: string): Promise<SavedState> {
  return (await db.query(selectState, [wallet, gameId]))[0] ?? { state: null, version: 0, updatedAt: null };
}

type Saved = { version: number; updatedAt: string };
/** Whether the transaction got the lock of the state, and the saved version; no version when the lock is held or the stored version is not expected. */
type Attempt = { taken: boolean; version: number | null; updatedAt: string | null };

// Concurrent saves of a state would wait for each other's row lock, so each save tries to take a lock first. $4: the accepted versions of the stored
// state; null accepts any version.
const LOCK = `lock as materialized (select pg_try_advisory_xact_lock(hashtextextended($1::text || ' ' || $2::text, 4203)) as taken)`;
const RESULT = 'select lock.taken, saved.version, saved."updatedAt" from lock left join saved on true';

const upsertState = statement<Attempt>(
  'upsert_game_state',
  `with ${LOCK}, saved as (
   insert into game_states as s (wallet, game_id, state, version) select $1, $2, $3, 1 from lock where taken
   on conflict (wallet, game_id) do update set state = excluded.state, version = s.version + 1, updated_at = app_now()
   where $4::int[] is null or s.version = any($4::int[])
   returning version, ${UPDATED_AT}) ${RESULT}`,
);
const updateState = statement<Attempt>(
  'update_game_state',
  `with ${LOCK}, saved as (
   update game_states set state = $3, version = version + 1, updated_at = app_now() from lock
   where taken and wallet = $1 and game_id = $2 and ($4::int[] is null or version = any($4::int[]))
   returning version, ${UPDATED_AT}) ${RESULT}`,
);

/**
 * Saves a state, a JSON text, in one statement. So when concurrent writers expect the same version, exactly one of them succeeds. Precondition: the
 * transaction runs in the work of `inTurn`.
 * @throws 412 when `expected` does not match the version of the stored state (0 before the first save)
 */
export async function saveState(tx: Tx, wallet: string, gameId: string, state: string, expected: ExpectedVersions): Promise<Saved> {
  const mayBeNew = expected === null || (expected !== '*' && expected.includes(0));
  const versions = expected === '*' ? null : expected;
  const attempt = (await tx.query(mayBeNew ? upsertState : updateState, [wallet, gameId, state, versions]))[0];
  if (!attempt?.taken) throw lockHeld();
  const { version, updatedAt } = attempt;
  if (version === null || updatedAt === null) throw staleVersion();
  tx.emit(gameState, { gameId, version }, wallet);
  return { version, updatedAt };
}
