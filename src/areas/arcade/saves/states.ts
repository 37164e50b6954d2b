import { instant, type Queryable, statement } from '#platform/db/sql.ts';
import type { Tx } from '#platform/db/transaction.ts';
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

// $4: the accepted versions of the stored state; null accepts any version.
const upsertState = statement<Saved>(
  'upsert_game_state',
  `insert into game_states as s (wallet, game_id, state, version) values ($1, $2, $3, 1)
   on conflict (wallet, game_id) do update set state = excluded.state, version = s.version + 1, updated_at = app_now()
   where $4::int[] is null or s.version = any($4::int[])
   returning version, ${UPDATED_AT}`,
);
const updateState = statement<Saved>(
  'update_game_state',
  `update game_states set state = $3, version = version + 1, updated_at = app_now()
   where wallet = $1 and game_id = $2 and ($4::int[] is null or version = any($4::int[]))
   returning version, ${UPDATED_AT}`,
);

/**
 * Saves a state, a JSON text, in one statement. So when concurrent writers expect the same version, exactly one of them succeeds.
 * @throws 412 when `expected` does not match the version of the stored state (0 before the first save)
 */
export async function saveState(tx: Tx, wallet: string, gameId: string, state: string, expected: ExpectedVersions): Promise<Saved> {
  const mayBeNew = expected === null || (expected !== '*' && expected.includes(0));
  const versions = expected === '*' ? null : expected;
  const saved = (await tx.query(mayBeNew ? upsertState : updateState, [wallet, gameId, state, versions]))[0];
  if (!saved) throw staleVersion();
  tx.emit(gameState, { gameId, version: saved.version }, wallet);
  return saved;
}
