import { useLayoutEffect, useMemo, useRef } from 'preact/hooks';
import { numberText } from '../ui/amount.ts';
import { ProblemNote } from '../ui/problem-note.tsx';
import { WalletName } from '../ui/wallet.tsx';
import type { Line } from './board-lines.ts';
import { createMotion } from './motion.ts';
import type { LiveBoard } from './use-board.ts';

/** A board whose lines move to their new ranks. */
export function BoardList({ board, label, empty }: { board: LiveBoard; label: string; empty: string }) {
  const lines = board.lines.value;
  return (
    <>
      <ProblemNote problem={board.problem.value} retry={board.reload} />
      {lines?.length === 0 && <p class="empty">{empty}</p>}
      {lines === undefined && board.problem.value === null && <p class="quiet">Loading the board…</p>}
      {lines && lines.length > 0 && <Lines lines={lines} label={label} />}
    </>
  );
}

function Lines({ lines, label }: { lines: readonly Line[]; label: string }) {
  const list = useRef<HTMLOListElement>(null);
  const motion = useMemo(createMotion, []);
  useLayoutEffect(() => {
    if (list.current) motion(list.current, lines);
  }, [lines]);
  return (
    <ol ref={list} class="ranks" aria-label={label}>
      {lines.map(({ rank, wallet, name, score }) => (
        <li key={wallet} class={rank <= 3 ? `rank-line top-${rank}` : 'rank-line'}>
          <span class="rank">
            <span class="unseen">Rank </span>
            {rank}
          </span>
          <WalletName wallet={wallet} name={name} />
          <span class="score">{numberText(score)}</span>
        </li>
      ))}
    </ol>
  );
}
