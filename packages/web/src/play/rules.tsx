import { Panel } from '../ui/panel.tsx';

/** The rules and the keys of Block Cascade. */
export function Rules() {
  return (
    <div class="rules">
      <Panel title="How to play">
        <p>
          Move and rotate the falling pieces so that they fill whole rows. A full row disappears: 100 points for one, 300 for two, 500 for three and
          800 for four at once, multiplied by the level. The level rises with every ten rows, and the pieces fall faster. Drops give a few points too.
        </p>
        <p>
          A play lasts three minutes, or until the pieces reach the top. The clock runs on, also while this tab is hidden: a pause is not possible.
          You may end a play early; the score so far counts.
        </p>
      </Panel>
      <Panel title="Keys">
        <dl class="pairs" id="play-keys">
          <dt>
            <kbd>←</kbd> <kbd>→</kbd>
          </dt>
          <dd>Move. Hold the key to repeat.</dd>
          <dt>
            <kbd>↑</kbd>
          </dt>
          <dd>Rotate</dd>
          <dt>
            <kbd>↓</kbd>
          </dt>
          <dd>Down faster</dd>
          <dt>
            <kbd>Space</kbd>
          </dt>
          <dd>Drop</dd>
          <dt>
            <kbd>H</kbd>
          </dt>
          <dd>Tell the score and the height of the columns to a screen reader</dd>
        </dl>
        <p class="quiet">
          The keys <kbd>A</kbd> <kbd>D</kbd> <kbd>W</kbd> <kbd>S</kbd> work like the arrows. On a touch screen, use the buttons below the board.
        </p>
      </Panel>
      <Panel title="Why the score counts">
        <p>
          This page sends your inputs with the score. The arcade computes the game again with the same program and the same inputs, and accepts only
          the score that comes out. Everybody can do the same later.
        </p>
      </Panel>
    </div>
  );
}
