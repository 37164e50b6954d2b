import { createHash } from 'node:crypto';
import { epochMemo } from '#lib/epoch-memo.ts';
import { addressOf } from './rounds.ts';

const EPOCH = 20_777;
const RULES = { formulaVersion: 1, rulesVersion: 2, pool: '100000000000', cap: '10000000000', dust: '10000' };

/** A small points file with its hash, its length and its memo, memos that are invalid for it, and lines that are invalid. */
export function epochPoints() {
  const [first = '', second = '', third = ''] = ['a', 'b', 'c'].map((name) => addressOf(`wallet ${name}`)).sort();
  const wallets = [
    { wallet: first, points: 97, sources: { 'adjustment:adjustment': 90, 'referral:referral': 7 } },
    { wallet: second, points: 336, sources: { 'game:score:snake': 351, 'game:void:snake': -40, 'quest:quest': 25 } },
    { wallet: third, points: 12, sources: { 'game:score:star-raiders': 12 } },
  ];
  const header = { type: 'coinop/points/1', epoch: EPOCH, day: '2026-11-20', ...RULES, wallets: 3, points: 445 };
  const file = [header, ...wallets].map((line) => `${JSON.stringify(line)}\n`).join('');
  const pointsHash = createHash('sha256').update(file).digest('hex');
  const pointsBytes = Buffer.byteLength(file);
  const memo = epochMemo(EPOCH, { source: 'computed', pointsHash, pointsBytes });
  return {
    epoch: EPOCH,
    file,
    pointsHash,
    pointsBytes,
    memo,
    importMemo: epochMemo(EPOCH, { source: 'import' }),
    invalidMemos: [
      { reason: 'another epoch', memos: [epochMemo(EPOCH + 1, { source: 'computed', pointsHash, pointsBytes })] },
      { reason: 'another hash', memos: [epochMemo(EPOCH, { source: 'computed', pointsHash: 'ab'.repeat(32), pointsBytes })] },
      { reason: 'another length', memos: [epochMemo(EPOCH, { source: 'computed', pointsHash, pointsBytes: pointsBytes + 1 })] },
      { reason: 'an import', memos: [epochMemo(EPOCH, { source: 'import' })] },
      { reason: 'two memos', memos: [memo, memo] },
      { reason: 'no memo of an epoch', memos: ['hello'] },
    ],
    invalidLines: [
      { reason: 'the sources have another sum', line: { ...wallets[0], points: 98 } },
      { reason: 'a source is not an integer', line: { wallet: first, points: 1, sources: { 'quest:quest': '1' } } },
      { reason: 'the sources are missing', line: { wallet: first, points: 0 } },
    ],
  };
}
