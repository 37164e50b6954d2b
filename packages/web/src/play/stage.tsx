import { useComputed, useSignal } from '@preact/signals';
import { useEffect, useMemo, useRef } from 'preact/hooks';
import { numberText } from '../ui/amount.ts';
import { announce } from '../ui/announce.tsx';
import { clockText } from '../ui/time.tsx';
import { type Button, HeldButtons } from './buttons.ts';
import { followKeys } from './keys.ts';
import { boardText, PIECES, standingsText } from './narrate.ts';
import { boardCanvas, CellCanvas, showPiece } from './picture.ts';
import type { Run } from './run.ts';

/** Time between two sentences about the score for screen readers, ms. */
const TELL_MS = 15_000;

/** A running play: the board, the numbers and the buttons. `onEnd` is called once, when the run is over. */
export function Stage({ run, onEnd }: { run: Run; onEnd: () => void }) {
  const board = useRef<HTMLCanvasElement>(null);
  const next = useRef<HTMLCanvasElement>(null);
  const area = useRef<HTMLDivElement>(null);
  const held = useMemo(() => new HeldButtons(), [run]);
  const standings = useSignal(run.standings);

  useEffect(() => {
    if (!board.current || !next.current) return;
    area.current?.focus({ preventScroll: true });
    area.current?.scrollIntoView({ block: 'nearest' });
    const stop = new AbortController();
    const [cells, preview] = [boardCanvas(board.current), new CellCanvas(next.current, 4, 2)];
    followKeys(held, () => announce(`${standingsText(run.standings)} ${boardText(run.cells)}`), stop.signal);
    // A reload would lose the play.
    addEventListener('beforeunload', (event) => event.preventDefault(), { signal: stop.signal });
    const tell = setInterval(() => announce(standingsText(run.standings)), TELL_MS);
    const startedAt = performance.now();
    let frame = requestAnimationFrame(function draw() {
      run.advance(performance.now() - startedAt, () => held.next());
      const now = run.standings;
      cells.show(run.cells);
      showPiece(preview, now.next);
      if (JSON.stringify(now) !== JSON.stringify(standings.value)) standings.value = now;
      if (run.isOver) onEnd();
      else frame = requestAnimationFrame(draw);
    });
    return () => {
      cancelAnimationFrame(frame);
      clearInterval(tell);
      stop.abort();
      cells.close();
      preview.close();
    };
  }, [run]);

  const time = useComputed(() => clockText(standings.value.secondsLeft * 1_000));
  const { score, lines, level, next: kind } = standings.value;
  return (
    <div class="stage">
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: the board takes the focus, so that keys control the game. */}
      <div class="well" ref={area} tabIndex={0} role="application" aria-label="Board of Block Cascade" aria-describedby="play-keys">
        <canvas class="cells" ref={board} />
      </div>
      <div class="stage-side">
        <dl class="figures">
          <div>
            <dt>Score</dt>
            <dd class="big" data-testid="score">
              {numberText(score)}
            </dd>
          </div>
          <div>
            <dt>Time left</dt>
            <dd>{time}</dd>
          </div>
          <div>
            <dt>Lines</dt>
            <dd>{lines}</dd>
          </div>
          <div>
            <dt>Level</dt>
            <dd>{level}</dd>
          </div>
          <div>
            <dt>Next</dt>
            <dd>
              <canvas class="next" ref={next} role="img" aria-label={`Piece ${PIECES[kind] ?? ''}`} />
            </dd>
          </div>
        </dl>
        <button type="button" class="second small" onClick={() => run.stop()}>
          End the play
        </button>
      </div>
      <TouchButtons held={held} />
    </div>
  );
}

const TOUCH: readonly (readonly [button: Button, sign: string, name: string])[] = [
  ['left', '←', 'Move left'],
  ['right', '→', 'Move right'],
  ['rotate', '↻', 'Rotate'],
  ['softDrop', '↓', 'Down faster'],
  ['hardDrop', '⤓', 'Drop'],
];

/** Buttons for touch screens and for assistive technology. */
function TouchButtons({ held }: { held: HeldButtons }) {
  return (
    // biome-ignore lint/a11y/useSemanticElements: a fieldset is for the fields of a form; these buttons control the game.
    <div class="touch" role="group" aria-label="Buttons of the game">
      {TOUCH.map(([button, sign, name]) => (
        <button
          key={button}
          type="button"
          class="second"
          aria-label={name}
          onPointerDown={(event) => {
            event.currentTarget.setPointerCapture(event.pointerId);
            held.press(button);
          }}
          onPointerUp={() => held.release(button)}
          onPointerCancel={() => held.release(button)}
          onClick={(event) => {
            // Assistive technology and the keyboard send a click without a pointer.
            if (event.detail !== 0) return;
            held.press(button);
            held.release(button);
          }}
          onContextMenu={(event) => event.preventDefault()}
        >
          {sign}
        </button>
      ))}
    </div>
  );
}
