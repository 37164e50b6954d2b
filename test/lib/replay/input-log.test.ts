import { describe, expect, test } from '@jest/globals';
import { readInputLog, writeInputLog } from '#lib/replay/input-log.ts';
import { randomGenerator } from '#test/support/areas/board-model.ts';

describe('an input log', () => {
  test('has a version, and for each span its ticks and its input', () => {
    expect([...writeInputLog([0, 0, 0, 5, 300, 300])]).toEqual([1, 3, 0, 1, 5, 2, 0xac, 2]);
    expect(readInputLog(Uint8Array.of(1, 3, 0, 1, 5, 2, 0xac, 2))).toEqual([
      { ticks: 3, input: 0 },
      { ticks: 1, input: 5 },
      { ticks: 2, input: 300 },
    ]);
  });

  test('of no ticks is one byte', () => {
    expect([...writeInputLog([])]).toEqual([1]);
    expect(readInputLog(Uint8Array.of(1))).toEqual([]);
  });

  test('gives back the inputs of every play', () => {
    const random = randomGenerator(7);
    for (let round = 0; round < 200; round += 1) {
      const inputs = Array.from({ length: random.int(0, 300) }, () => random.pick([0, 0, 1, random.int(0, 2 ** 32 - 1)]));
      const read = readInputLog(writeInputLog(inputs));
      expect(read.flatMap(({ ticks, input }) => new Array<number>(ticks).fill(input))).toEqual(inputs);
    }
  });

  test.each([
    ['no byte', [], /begin with the byte 1/],
    ['another version', [2, 1, 1], /begin with the byte 1/],
    ['a span without its input', [1, 1], /ends within a span/],
    ['an integer that does not end', [1, 0x80], /ends within a span/],
    ['an integer of more than 32 bits', [1, 0xff, 0xff, 0xff, 0xff, 0x1f, 0], /more than 32 bits/],
    ['an integer that does not end after 5 bytes', [1, 0x85, 0x80, 0x80, 0x80, 0x80, 5], /more than 32 bits/],
    ['a span of no ticks', [1, 0, 5], /at least one tick/],
    ['two neighbouring spans with one input', [1, 1, 5, 1, 5], /different inputs/],
    ['a redundant byte in an integer', [1, 0x81, 0, 5], /redundant byte/],
  ])('with %s is refused', (_name, bytes, message) => {
    expect(() => readInputLog(Uint8Array.from(bytes))).toThrow(message);
  });

  test('of more than 64 KiB is refused', () => {
    expect(() => readInputLog(new Uint8Array(65_537).fill(1))).toThrow(/at most 65536 bytes/);
  });
});
