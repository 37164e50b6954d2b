import type { CheckRequest, CheckResult } from './request.ts';

export type Kind = CheckRequest['kind'];

/** The kind of a verdict. It decides the colour. */
export type Tone = 'good' | 'bad' | 'warm' | 'unknown';

/** A verdict in words. */
export interface Words {
  readonly tone: Tone;
  readonly title: string;
  readonly text: string;
}

const HOLDS: Readonly<Record<Kind, Words>> = {
  round: {
    tone: 'good',
    title: 'True',
    text: 'This browser computed the draw again from the entries, the chain and the beacon. Every check holds.',
  },
  epoch: {
    tone: 'good',
    title: 'True',
    text: 'This browser computed the rewards again from the points. They have the root that is on the chain. Every check holds.',
  },
  score: {
    tone: 'good',
    title: 'True',
    text: 'This browser ran the game again with the inputs of the player. The score is the one that the arcade shows.',
  },
};

/** Steps that a verdict “true” needs, by kind. A verifier that ends before them has found nothing false, but has not checked the result either. */
const NEEDED: Readonly<Record<Kind, readonly string[]>> = {
  round: ['entries', 'result', 'payouts'],
  epoch: ['amounts', 'root'],
  score: ['simulation', 'score'],
};

/**
 * Returns the verdict of a check in words. It is "true" only when every step holds, no needed step is missing, and the rules of the round protect the
 * players.
 */
export function wordsOf(kind: Kind, { verdict, steps, isDevelopment }: CheckResult): Words {
  const has = (check: string) => steps.some((step) => step.check === check && step.outcome === 'true');
  if (verdict === 'false') {
    // The documents of an epoch do not name the cluster, so a node of another cluster looks like a missing account.
    const other = kind === 'epoch' && steps.at(-1)?.check === 'account' ? ' Make sure that your node is of the Solana cluster of the arcade.' : '';
    return { tone: 'bad', title: 'False', text: `A check fails. The arcade shows something that is not true; the last step names it.${other}` };
  }
  if (verdict === 'cannot be checked') {
    return { tone: 'unknown', title: 'Cannot be checked', text: 'At least one check was not possible, so there is no verdict. The steps say why.' };
  }
  const isVoid = kind === 'round' && has('void');
  if (!isVoid && verdict === 'true' && !NEEDED[kind].every(has)) {
    return { tone: 'unknown', title: 'Cannot be checked', text: 'The check ended before it reached the result, so there is no verdict.' };
  }
  if (verdict === 'late or unpaid' && !has('result')) {
    return {
      tone: 'warm',
      title: 'Late, without a result',
      text: 'A deadline passed, and the round has no result to check. The steps name the deadline.',
    };
  }
  if (isDevelopment) {
    const rest =
      verdict === 'true' ? 'Every check holds' : 'The result follows from the entries and the beacon, but a deadline passed or a prize is not paid';
    return {
      tone: 'warm',
      title: 'Consistent, under development rules',
      text: `${rest}. Development rules protect nobody: the arcade could choose the result.`,
    };
  }
  if (verdict === 'late or unpaid') {
    return {
      tone: 'warm',
      title: 'True, but late or unpaid',
      text: 'The result is right. A deadline passed, or a prize is not paid; the steps name it.',
    };
  }
  if (kind === 'round' && has('void'))
    return { tone: 'good', title: 'True: the round is void', text: 'The round had no entries, so there was no draw.' };
  if (kind === 'epoch' && !has('points')) {
    const where = has('account') ? 'Their root is on the chain.' : 'The chain does not hold their root.';
    return {
      tone: 'warm',
      title: 'Imported, not computed from points',
      text: `An operator imported the amounts, so this browser could not compute them. ${where} Every check that was possible holds.`,
    };
  }
  if (kind === 'epoch' && !has('account')) {
    return {
      tone: 'warm',
      title: 'Computed, but not on the chain',
      text: 'The amounts follow from the published points. The chain does not hold their root, so this check cannot show that they stay the same.',
    };
  }
  return HOLDS[kind];
}
