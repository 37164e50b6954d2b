import { client, ok } from '../client.ts';
import { useLoaded } from '../live/load.ts';
import type { Params } from '../page-route.ts';
import { Link } from '../router.tsx';
import { Standing } from '../session/standing.tsx';
import { ProblemNote } from '../ui/problem-note.tsx';
import { BlockCascade } from './block-cascade.tsx';

/** The page of a game. Block Cascade runs in the page; other games run on pages of their own. */
export default function PlayPage({ params }: { params: Params }) {
  const id = params.id ?? '';
  const games = useLoaded(async () => (await ok(client.get('/config/games'))).body, []);
  const game = games.value.value?.find((one) => one.id === id);
  return (
    <>
      <h1>{game?.name ?? (id === 'block-cascade' ? 'Block Cascade' : 'Play')}</h1>
      <Standing />
      {id === 'block-cascade' ? (
        <BlockCascade />
      ) : (
        <>
          <ProblemNote problem={games.problem.value} retry={games.reload} />
          {games.value.value && (
            <div class="empty">
              <p>
                {game
                  ? 'This game does not run in this page: it has a program or a page of its own, which sends its scores to the arcade.'
                  : 'The arcade has no such game.'}
              </p>
              <p>
                {game && (
                  <>
                    <Link href={`/boards/${id}`}>See its leaderboard</Link>, or{' '}
                  </>
                )}
                <Link href="/games/block-cascade">play Block Cascade</Link>.
              </p>
            </div>
          )}
        </>
      )}
    </>
  );
}
