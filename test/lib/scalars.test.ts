import { expect, test } from '@jest/globals';
import bs58 from 'bs58';
import type { z } from 'zod';
import { fail, HttpError, unavailable } from '#lib/errors.ts';
import { PageQuery } from '#lib/paging.ts';
import { decodeBase58, line, Slug, Wallet } from '#lib/scalars.ts';

const isValid = (schema: z.ZodType, value: unknown) => schema.safeParse(value).success;

test('a wallet is base58 of exactly 32 bytes', () => {
  expect([31, 32, 33].map((bytes) => isValid(Wallet, bs58.encode(new Uint8Array(bytes).fill(200))))).toEqual([false, true, false]);
  // The shortest address has 32 characters: 32 zero bytes.
  expect(isValid(Wallet, '1'.repeat(32))).toBe(true);
  expect(isValid(Wallet, bs58.encode(new Uint8Array(32).fill(255)))).toBe(true);
  expect(isValid(Wallet, `${'1'.repeat(31)}0`)).toBe(false);
});

test('texts longer than 128 characters and texts with other characters are not decoded as base58', () => {
  expect(decodeBase58('1'.repeat(128))).toEqual(new Uint8Array(128));
  expect(decodeBase58('1'.repeat(129))).toBeNull();
  expect(decodeBase58('0OIl')).toBeNull();
});

test('a slug has 1 to 64 lower-case letters, digits and inner hyphens', () => {
  for (const text of ['a', '7', 'star-raiders', 'a--b', 'a'.repeat(64), `a${'-'.repeat(62)}b`]) expect(isValid(Slug, text)).toBe(true);
  for (const text of ['', '-', 'a-', '-a', 'A', 'a b', 'a'.repeat(65), 'a\n']) expect(isValid(Slug, text)).toBe(false);
});

test('a line is trimmed, well-formed, without control characters and of limited length', () => {
  expect(line(3).parse(' a b ')).toBe('a b');
  for (const text of ['', '  ', 'abcd', 'a\nb', 'a\u0000', '\ud800']) expect(isValid(line(3), text)).toBe(false);
});

test('a page has 1 to 500 rows, 50 by default, from an offset of 0 to 10,000,000', () => {
  expect(PageQuery.parse({})).toEqual({ limit: 50, offset: 0 });
  expect(PageQuery.parse({ limit: '500', offset: '10000000' })).toEqual({ limit: 500, offset: 10_000_000 });
  expect(PageQuery.parse({ limit: '1', offset: '0' })).toEqual({ limit: 1, offset: 0 });
  for (const query of [{ limit: '0' }, { limit: '501' }, { limit: '1.5' }, { offset: '-1' }, { offset: '10000001' }, { offset: '0.5' }]) {
    expect(isValid(PageQuery, query)).toBe(false);
  }
});

test('the error of a rejected request has a status, a sentence and headers', () => {
  const error = fail(404, 'no such round', { Allow: 'GET' });
  expect(error).toBeInstanceOf(HttpError);
  expect([error.name, error.status, error.message, error.headers]).toEqual(['HttpError', 404, 'no such round', { Allow: 'GET' }]);
  expect(fail(400, 'no').headers).toEqual({});
  expect([unavailable().status, unavailable().headers, unavailable('down', 7).headers]).toEqual([
    503,
    { 'Retry-After': '1' },
    { 'Retry-After': '7' },
  ]);
});
