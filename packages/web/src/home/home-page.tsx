import { useSignal } from '@preact/signals';
import { BoardList } from '../boards/board-list.tsx';
import { useBoard } from '../boards/use-board.ts';
import { useGames } from '../games.ts';
import { Link } from '../router.tsx';
import { session } from '../session/session.ts';
import { sessionKey } from '../session/session-key.ts';
import { Standing } from '../session/standing.tsx';
import { TermsNote } from '../session/terms.tsx';
import { Panel } from '../ui/panel.tsx';
import { Choices } from '../ui/tabs.tsx';
import { ChatPanel } from './chat.tsx';
import { Intro } from './intro.tsx';
import { PlayingPanel } from './playing.tsx';
import { RoundPanel } from './round.tsx';

const LINES = 10;
const ALL = 'all';
/** Number of games with a button; the page of the boards has all of them. */
const GAMES = 12;

/** The home page: what the arcade is, who plays, the boards, the round and the chat. */
export default function HomePage() {
  return (
    <>
      <Intro />
      <Standing />
      {session.value && <TermsNote key={sessionKey.value} />}
      <div class="columns">
        <div class="stack">
          <BoardPanel />
          <PlayingPanel />
        </div>
        <div class="stack">
          <RoundPanel />
          <ChatPanel />
        </div>
      </div>
    </>
  );
}

function BoardPanel() {
  const games = useGames();
  const chosen = useSignal(ALL);
  const gameId = chosen.value === ALL ? null : chosen.value;
  const board = useBoard({ gameId, period: null, around: false, limit: LINES });
  const name = games.find(({ id }) => id === gameId)?.name ?? 'All games';
  return (
    <Panel title="Live boards" aside={<Link href={gameId === null ? '/boards' : `/boards/${gameId}`}>All lines</Link>}>
      <Choices
        label="Board"
        choices={[[ALL, 'All games'], ...games.slice(0, GAMES).map((game) => [game.id, game.name] as const)]}
        chosen={chosen.value}
        choose={(value) => {
          chosen.value = value;
        }}
      />
      <BoardList board={board} label={`${name}, the best ${LINES}`} empty="Nobody is on this board yet. The first score takes rank 1." />
    </Panel>
  );
}
