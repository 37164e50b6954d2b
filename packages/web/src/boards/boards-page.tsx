import { type Api, client, ok } from '../client.ts';
import { useGames } from '../games.ts';
import { useLoaded } from '../live/load.ts';
import { useEvents } from '../live/use-events.ts';
import type { Params } from '../page-route.ts';
import { Link, navigate, query, replaceQuery } from '../router.tsx';
import { session } from '../session/session.ts';
import { sessionKey } from '../session/session-key.ts';
import { numberText } from '../ui/amount.ts';
import { Choices } from '../ui/tabs.tsx';
import { BoardList } from './board-list.tsx';
import { useBoard } from './use-board.ts';

const LINES = 100;
const ALL = 'all';
const PERIODS = [
  [ALL, 'All time'],
  ['day', 'Today'],
  ['week', 'This week'],
  ['month', 'This month'],
  ['year', 'This year'],
] as const;
type PeriodChoice = (typeof PERIODS)[number][0];

const isPeriod = (text: string | null): text is PeriodChoice => PERIODS.some(([value]) => value === text);

/** The boards of the arcade: all games together or one of them, by period, from the top or around the visitor. */
export default function BoardsPage({ params }: { params: Params }) {
  const gameId = params.id ?? null;
  const named = query.value.get('period');
  const period = isPeriod(named) ? named : ALL;
  const around = query.value.get('around') === 'me' && session.value !== null;
  const games = useGames();
  const board = useBoard({ gameId, period: period === ALL ? null : period, around, limit: LINES });
  const title = gameId === null ? 'All games' : (games.find(({ id }) => id === gameId)?.name ?? gameId);
  return (
    <>
      <h1>Leaderboards</h1>
      <p>
        {gameId === null
          ? 'Points of all games, quests and referrals together.'
          : 'The best score of each wallet, from 0 to 10,000. The board moves as scores arrive.'}
      </p>
      <Choices
        label="Board"
        choices={[[ALL, 'All games'], ...games.map(({ id, name }) => [id, name] as const)]}
        chosen={gameId ?? ALL}
        choose={(value) => navigate(`${value === ALL ? '/boards' : `/boards/${value}`}${location.search}`)}
      />
      <div class="row spread">
        <Choices label="Period" choices={PERIODS} chosen={period} choose={(value) => replaceQuery({ period: value === ALL ? null : value })} />
        {session.value && (
          <Choices
            label="Lines"
            choices={[
              ['top', 'From the top'],
              ['me', 'Around me'],
            ]}
            chosen={around ? 'me' : 'top'}
            choose={(value) => replaceQuery({ around: value === 'me' ? 'me' : null })}
          />
        )}
      </div>
      <section class="panel" aria-label={title}>
        {session.value && <OwnRank gameId={gameId} period={period === ALL ? null : period} />}
        <BoardList board={board} label={`${title}, ranked`} empty="Nobody is on this board yet. The first score takes rank 1." />
      </section>
      {gameId === 'block-cascade' && (
        <p>
          <Link class="button" href="/games/block-cascade">
            Play Block Cascade
          </Link>
        </p>
      )}
    </>
  );
}

function OwnRank({ gameId, period }: { gameId: string | null; period: Api.Period | null }) {
  const loaded = useLoaded(async () => {
    const chosen = { query: period ? { period } : {} };
    const call =
      gameId === null ? client.get('/leaderboard/global/rank', chosen) : client.get('/game/{id}/rank', { params: { id: gameId }, ...chosen });
    return (await ok(call)).body;
  }, [gameId, period, sessionKey.value]);
  useEvents(['score_recorded', 'score_decided', 'quest_completed'], loaded.reload, [loaded]);
  const rank = loaded.value.value;
  if (!rank) return null;
  if (rank.rank === null) return <p class="quiet">You are not on this board yet.</p>;
  return (
    <p class="own-rank">
      You have rank <strong>{numberText(rank.rank)}</strong> with <strong>{numberText(rank.score)}</strong>
      {rank.pointsToNext !== null && <>, {numberText(rank.pointsToNext)} below the next rank</>}.
    </p>
  );
}
