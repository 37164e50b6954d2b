import type { Api } from '../client.ts';
import { gameName, isPlayable } from '../games.ts';
import { amountText, numberText } from '../ui/amount.ts';
import { Signature } from '../ui/signature.tsx';
import { Ago } from '../ui/time.tsx';

type Look = 'good' | 'bad' | 'warm';

const SCORES: Readonly<Record<Api.Score['status'], Look>> = { accepted: 'good', held: 'warm', rejected: 'bad', voided: 'bad' };
const NO_POINTS: Readonly<Record<Api.NoPointsReason, string>> = {
  held: 'A moderator decides about the score first.',
  rejected: 'A rejected score gives no points.',
  voided: 'A voided score gives no points.',
  'game-earns-nothing': 'This game gives no points.',
  'low-score': 'The score is too low for a point.',
  'game-cap': 'You had the maximum of this game for the day.',
  'daily-cap': 'You had the maximum of all games for the day.',
};

/** A score of the visitor. */
export function ScoreLine({ score }: { score: Api.Score }) {
  const { scoreId, gameId, status, normalizedScore, pointsAwarded, noPointsReason, personalBest, reason, submittedAt } = score;
  return (
    <>
      <span>
        <strong>{numberText(normalizedScore)}</strong> in {gameName(gameId)}, {numberText(pointsAwarded)} points{' '}
        <span class={`tag ${SCORES[status]}`}>{status}</span> {personalBest && <span class="tag">best then</span>}{' '}
        {noPointsReason !== null && status === 'accepted' && <span class="quiet">{NO_POINTS[noPointsReason]} </span>}
        {reason !== null && <span class="quiet">Reason: {reason} </span>}
        {status === 'accepted' && isPlayable({ id: gameId }) && <a href={`/check/score/${scoreId}`}>Check it</a>}
      </span>
      <Ago at={submittedAt} />
    </>
  );
}

const ROUNDS: Readonly<Record<Api.OwnEntry['roundStatus'], string>> = {
  pending: 'not started',
  active: 'open',
  closing: 'closed',
  committed: 'waits for the draw',
  finalized: 'drawn',
  void: 'void',
};

/** An entry or a ticket of the visitor. */
export function EntryLine({ entry: { kind, roundId, roundStatus, status, index, numbers, reason, prize, at } }: { entry: Api.OwnEntry }) {
  return (
    <>
      <span>
        {kind === 'chat' ? `Entry with ${numbers.join(', ')}` : `Ticket${index === null ? '' : ` ${index}`}`}{' '}
        <span class="tag">{ROUNDS[roundStatus]}</span> {status === 'checking' && <span class="tag warm">payment is checked</span>}
        {status === 'refused' && <span class="tag bad">refused</span>} {reason !== null && <span class="quiet">{reason} </span>}
        {prize && (
          <strong>
            You won {amountText(prize.amount, prize.mint)} (place {prize.place}).{' '}
          </strong>
        )}
        {roundStatus === 'finalized' && <a href={`/check/round/${roundId}`}>Check the draw</a>}
      </span>
      <Ago at={at} />
    </>
  );
}

const PAYMENTS: Readonly<Record<Api.Payment['status'], readonly [text: string, look: Look]>> = {
  pending: ['waiting', 'warm'],
  batched: ['sent', 'warm'],
  confirmed: ['confirmed', 'warm'],
  completed: ['final', 'good'],
  failed: ['failed, still owed', 'bad'],
  reversed: ['reversed', 'bad'],
  manual: ['an operator looks at it, still owed', 'bad'],
};

/** A payment to the visitor. */
export function PaymentLine({ payment: { amount, currency, status, cause, reason, signature, updatedAt } }: { payment: Api.Payment }) {
  const [text, look] = PAYMENTS[status];
  return (
    <>
      <span>
        {amountText(amount, currency)} for {cause.kind.replaceAll('-', ' ')} <span class={`tag ${look}`}>{text}</span>{' '}
        {reason !== null && <span class="quiet">{reason} </span>}
        <Signature signature={signature} />
      </span>
      <Ago at={updatedAt} />
    </>
  );
}
