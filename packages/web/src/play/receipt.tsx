import { useEffect, useRef } from 'preact/hooks';
import type { Api } from '../client.ts';
import { Link } from '../router.tsx';
import { session } from '../session/session.ts';
import { numberText } from '../ui/amount.ts';
import { Panel } from '../ui/panel.tsx';
import { ShareLink } from '../ui/share-link.tsx';
import { WalletName } from '../ui/wallet.tsx';

const NO_POINTS: Readonly<Record<Api.NoPointsReason, string>> = {
  held: 'A moderator looks at this score first. It gives points when it is accepted.',
  rejected: 'A moderator rejected this score.',
  voided: 'This score was taken back.',
  'game-earns-nothing': 'This game gives no points.',
  'low-score': 'The score is too low for points.',
  'game-cap': 'You have earned all points that this game gives per day.',
  'daily-cap': 'You have earned all points that the arcade gives per day.',
};

/** Returns whether everybody may read a score. A score in beta mode is only for its wallet. */
const isPublic = ({ status }: Api.ScoreReceipt): boolean => status === 'accepted' && session.value?.beta.enabled !== true;

/** The result of a play. */
export function Receipt({ score, receipt, again }: { score: number; receipt: Api.ScoreReceipt; again: () => void }) {
  const { scoreId, status, pointsAwarded, noPointsReason, leftToday, personalBest, rank } = receipt;
  const area = useRef<HTMLDivElement>(null);
  // The board had the focus. A button must not get it, because a player may still press the space bar.
  useEffect(() => area.current?.focus({ preventScroll: true }), []);
  return (
    <div ref={area} tabIndex={-1} class="receipt-area">
      <Panel title={status === 'accepted' ? 'Your score is accepted' : 'Your score is recorded'} class="receipt">
        <dl class="figures">
          <div>
            <dt>Score</dt>
            <dd class="big">{numberText(score)}</dd>
          </div>
          <div>
            <dt>Points</dt>
            <dd class="big">{status === 'accepted' ? `+${numberText(pointsAwarded)}` : '0'}</dd>
          </div>
          <div>
            <dt>Rank of all time</dt>
            <dd class="big">{rank.rank === null ? '–' : numberText(rank.rank)}</dd>
          </div>
        </dl>
        {personalBest && (
          <p>
            <span class="tag good">Personal best</span>
          </p>
        )}
        {noPointsReason !== null && <p class="note">{NO_POINTS[noPointsReason]}</p>}
        {noPointsReason === null && <p class="quiet">You can earn {numberText(leftToday.game)} more points in this game today.</p>}
        {rank.neighbours.length > 1 && (
          <ol class="lines">
            {rank.neighbours.map((one) => (
              <li key={one.wallet}>
                <span>
                  {numberText(one.rank)}. <WalletName wallet={one.wallet} />
                </span>
                <span>{numberText(one.score)}</span>
              </li>
            ))}
          </ol>
        )}
        {isPublic(receipt) && (
          <p>
            This score is proven: everybody can compute it again. <Link href={`/check/score/${scoreId}`}>Check it in this browser</Link>.
          </p>
        )}
        <div class="row">
          <button type="button" onClick={again}>
            Play again
          </button>
          {isPublic(receipt) && <ShareLink path={`/check/score/${scoreId}`} title="A proven score" />}
        </div>
      </Panel>
    </div>
  );
}
