import { expect, test } from '@jest/globals';
import { mergePatch } from '#lib/merge-patch.ts';

test('the examples of RFC 7386 with an object as patch give the results of the RFC', () => {
  const cases: [unknown, Record<string, unknown>, unknown][] = [
    [{ a: 'b' }, { a: 'c' }, { a: 'c' }],
    [{ a: 'b' }, { b: 'c' }, { a: 'b', b: 'c' }],
    [{ a: 'b' }, { a: null }, {}],
    [{ a: 'b', b: 'c' }, { a: null }, { b: 'c' }],
    [{ a: ['b'] }, { a: 'c' }, { a: 'c' }],
    [{ a: 'c' }, { a: ['b'] }, { a: ['b'] }],
    [{ a: { b: 'c' } }, { a: { b: 'd', c: null } }, { a: { b: 'd' } }],
    [{ a: [{ b: 'c' }] }, { a: [1] }, { a: [1] }],
    [{ e: null }, { a: 1 }, { e: null, a: 1 }],
    [[1, 2], { a: 'b', c: null }, { a: 'b' }],
    [{}, { a: { bb: { ccc: null } } }, { a: { bb: {} } }],
    [null, { a: 1 }, { a: 1 }],
  ];
  for (const [target, patch, merged] of cases) expect(mergePatch(target, patch)).toEqual(merged);
});

test('a merge changes neither the target nor the patch', () => {
  const [target, patch] = [{ a: { b: 1, c: 2 } }, { a: { b: null } }];
  expect(mergePatch(target, patch)).toEqual({ a: { c: 2 } });
  expect([target, patch]).toEqual([{ a: { b: 1, c: 2 } }, { a: { b: null } }]);
});
