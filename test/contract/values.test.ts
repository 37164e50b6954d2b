import { beforeAll, describe, expect, test } from '@jest/globals';
import { z } from 'zod';
import { routes as routesByCaller } from '#areas/index.ts';
import { eventTypes } from '#areas/registry.ts';
import { readConfig } from '#config';
import { Millisecond } from '#lib/draw/bytes.ts';
import { Instant } from '#lib/scalars.ts';
import { openApi } from '#platform/http/openapi/document.ts';
import type { AnyRoute } from '#platform/http/route.ts';

/** The parts of a JSON Schema that these tests read. */
interface Schema {
  readonly $ref?: string;
  readonly id?: string;
  readonly type?: string | readonly string[];
  readonly format?: string;
  readonly pattern?: string;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly exclusiveMinimum?: number;
}
/** A schema, and its path in the document. */
type Found = readonly [path: string, schema: Schema];

const routes: readonly AnyRoute[] = Object.values(routesByCaller).flat();

/** Returns every object in a value, with its path. */
function everyObject(value: unknown, path: string): Found[] {
  if (typeof value !== 'object' || value === null) return [];
  return [[path, value], ...Object.entries(value).flatMap(([name, member]) => everyObject(member, `${path}/${name}`))];
}

let schemas: Found[];
let events: Found[];
beforeAll(() => {
  schemas = everyObject(JSON.parse(JSON.stringify(openApi(readConfig({}), routes))), '').filter(([path]) => !/\/examples?(?:\/|$)/.test(path));
  events = everyObject(
    [...eventTypes].map(([type, { payload }]) => [type, z.toJSONSchema(payload, { io: 'output' })]),
    '',
  );
});

/** Returns the last name in a path, or the name before a list of alternatives. */
const fieldOf = (path: string): string =>
  path
    .replace(/\/(?:anyOf|oneOf)\/\d+$/, '')
    .split('/')
    .at(-1) ?? '';

describe('an instant', () => {
  test.each([
    ['2026-11-21T12:00:00Z', '2026-11-21T12:00:00.000Z'],
    ['2026-11-21T12:00:00.5Z', '2026-11-21T12:00:00.500Z'],
    ['2026-11-21T12:00:00.123456Z', '2026-11-21T12:00:00.123Z'],
    ['2026-11-21T12:00:00.123Z', '2026-11-21T12:00:00.123Z'],
  ])('%s is read as %s, and written so', (text, canonical) => {
    expect(Instant.parse(text)).toBe(canonical);
  });

  /** Fields of webhook bodies, whose senders choose the format, and the field of a request that refines the schema Instant. */
  const OF_SENDERS = /\/PaymentStatus\/|BridgedDelivery|\/ScheduledThemeRequest\/properties\/startsAt$/;

  test('has the schema Instant in every field of a request, a response and an event', () => {
    const others = schemas.filter(([path, { format }]) => format === 'date-time' && !path.endsWith('/schemas/Instant') && !OF_SENDERS.test(path));
    expect(others.map(([path]) => path)).toEqual([]);
    const ofEvents = events.filter(([path, { format }]) => format === 'date-time' && !path.endsWith('/$defs/Instant'));
    expect(ofEvents.map(([path]) => path)).toEqual([]);
  });

  test('has the schema Instant, or the equally strict one of hashed instants, wherever the name of a field promises an instant', () => {
    const isNamedSo = (path: string) => /^(?:at|timestamp|until|\w+At|\w+Time)$/.test(fieldOf(path)) && !OF_SENDERS.test(path);
    const { pattern: hashed } = z.toJSONSchema(Millisecond);
    const texts = [...schemas, ...events].filter(([path, { type, pattern }]) => type === 'string' && isNamedSo(path) && pattern !== hashed);
    expect(texts.map(([path]) => path)).toEqual([]);
  });
});

describe('an integer', () => {
  const isInteger = ({ type }: Schema) => type === 'integer' || (Array.isArray(type) && type.includes('integer'));

  test('has only bounds that are rules of its field, not those of the number format', () => {
    const bounds = schemas.filter(([, { minimum = 0, maximum = 0 }]) => Math.max(-minimum, maximum) >= Number.MAX_SAFE_INTEGER);
    expect(bounds.map(([path]) => path)).toEqual([]);
  });

  test('has a lower bound, unless it is a sum of points or a raw score', () => {
    const open = schemas.filter(([path, schema]) => {
      const isBounded = schema.minimum !== undefined || schema.exclusiveMinimum !== undefined;
      return isInteger(schema) && !isBounded && !/\/schemas\/(?:Points|RawScore)$/.test(path);
    });
    expect(open.map(([path]) => path)).toEqual([]);
  });
});
