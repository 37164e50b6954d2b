import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { routes } from '../../src/areas/index.ts';
import { RESET_LINKS, eventTypes as registeredEvents } from '../../src/areas/registry.ts';
import { readConfig } from '../../src/config.ts';
import { openApi } from '../../src/platform/http/openapi/document.ts';
import { comment, field, nameIn, type Schema, typeOf } from './typescript.ts';

/**
 * Writes `src/api.ts`: the types of requests, responses and events, from the OpenAPI document and the event catalog of the service.
 *
 *     node packages/client/generate.ts
 *
 * The file `src/api.ts` is committed, so that a change of the contract is visible in review. A test fails when the file is out of date.
 */
export const FILE = join(import.meta.dirname, 'src/api.ts');
const BIOME = join(import.meta.dirname, '../../node_modules/.bin/biome');
const METHODS = ['get', 'post', 'put', 'patch', 'delete'] as const;
const JSON_TYPE = 'application/json';
/** Names that `src/api.ts` uses for other types, so no schema may have one of these names. */
const RESERVED_NAMES = ['Endpoints', 'Events', 'Bytes', 'Response'];

interface Media {
  readonly content?: Readonly<Record<string, { readonly schema?: Schema }>>;
}
interface Operation {
  readonly summary?: string;
  readonly description?: string;
  readonly deprecated?: boolean;
  readonly parameters?: readonly {
    readonly in: string;
    readonly name: string;
    readonly required?: boolean;
    readonly description?: string;
    readonly schema: Schema;
  }[];
  readonly requestBody?: Media & { readonly required?: boolean };
  readonly responses: Readonly<Record<string, Media & { readonly $ref?: string }>>;
}
interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, Schema>>; readonly responses: Readonly<Record<string, Media>> };
}

/** Returns the text of `src/api.ts`. */
export function generate(): string {
  const document: Document = JSON.parse(JSON.stringify(openApi(readConfig({}), Object.values(routes).flat())));
  const { shapes, events } = eventTypes(document.components.schemas);
  const text = [
    '// Written by packages/client/generate.ts from the routes and events of the service. Do not edit.\n',
    "import type { Bytes } from './bytes.ts';\n",
    ...sorted({ ...document.components.schemas, ...shapes }).map(shape),
    endpoints(document),
    events,
  ].join('\n');
  const formatted = spawnSync(BIOME, ['format', `--stdin-file-path=${FILE}`], { input: text, encoding: 'utf8', maxBuffer: 2 ** 26 });
  if (formatted.status !== 0) throw new Error(`biome could not format the generated file: ${formatted.stderr}`);
  return formatted.stdout;
}

/** Returns the entries of an object sorted by name, so that a new entry does not reorder other entries. */
const sorted = <T>(things: Readonly<Record<string, T>>): [string, T][] => Object.entries(things).sort(([a], [b]) => (a < b ? -1 : 1));

function shape([name, schema]: [string, Schema]): string {
  if (RESERVED_NAMES.includes(name)) throw new Error(`the schema name ${name} is reserved`);
  return `${comment(schema.description)}export type ${name} = ${typeOf(schema)};\n`;
}

function endpoints({ paths, components }: Document): string {
  const ofMethod = (method: string) =>
    sorted(paths).flatMap(([path, item]) => {
      const operation = item[method];
      return operation ? [`${comment(about(operation))}${JSON.stringify(path)}: { ${endpoint(operation, components.responses).join('')} };\n`] : [];
    });
  const methods = METHODS.map((method) => `${method}: {\n${ofMethod(method).join('')}};\n`);
  return `${comment('Every endpoint by method and path: its input, its responses by status, and the statuses of its errors.')}export interface Endpoints {\n${methods.join('')}}\n`;
}

const about = ({ summary, description, deprecated }: Operation): string =>
  [`${summary}.`, description, deprecated ? '@deprecated Kept for existing clients.' : ''].filter(Boolean).join('\n\n');

function endpoint({ parameters = [], requestBody, responses }: Operation, shared: Document['components']['responses']): string[] {
  const parts: string[] = [];
  for (const [place, name] of [
    ['path', 'params'],
    ['query', 'query'],
  ] as const) {
    const own = parameters.filter((parameter) => parameter.in === place);
    if (own.length === 0) continue;
    const fields = own.map((p) => field(p.name, { ...p.schema, description: p.description ?? p.schema.description ?? '' }, p.required === true));
    parts.push(`${name}${own.some((p) => p.required) ? '' : '?'}: { ${fields.join('')} };\n`);
  }
  if (requestBody) parts.push(`body${requestBody.required ? '' : '?'}: ${media(requestBody, 'Bytes')};\n`);
  if (parameters.some((parameter) => parameter.name === 'Idempotency-Key')) parts.push('idempotent: true;\n');

  const errors: string[] = [];
  const bodies = Object.entries(responses).flatMap(([status, given]) => {
    const response = given.$ref === undefined ? given : shared[nameIn(given.$ref)];
    if (!response) throw new Error(`${given.$ref} is not defined`);
    const type = media(response, 'Response');
    if (type !== 'Error') return [`${status}: ${type};\n`];
    errors.push(status);
    return [];
  });
  parts.push(`responses: { ${bodies.join('')} };\n`, `errors: ${errors.join(' | ') || 'never'};\n`);
  return parts;
}

/** Returns the TypeScript type of a body. A JSON body has the type of its schema. A body of another content type has the type given as `bytes`. */
function media({ content }: Media, bytes: 'Bytes' | 'Response'): string {
  // A page is for browsers: clients of a response that is JSON or a page get JSON.
  const forClients = Object.entries(content ?? {}).filter(([type], _, all) => type !== 'text/html' || all.length === 1);
  const types = forClients.map(([type, { schema }]) => (type === JSON_TYPE ? typeOf(schema ?? {}) : bytes));
  return types.length === 0 ? 'null' : [...new Set(types)].join(' | ');
}

/** Returns the TypeScript text of the interface `Events`, and the schemas that only events use. */
function eventTypes(known: Document['components']['schemas']): { shapes: Record<string, Schema>; events: string } {
  const payloadSchemas = new Map([...registeredEvents].map(([type, { payload }]) => [type, payload]));
  const { $defs = {}, properties } = z.toJSONSchema(z.object(Object.fromEntries(payloadSchemas)), { io: 'output' });
  const shapes: Record<string, Schema> = {};
  for (const [name, definition] of Object.entries(JSON.parse(JSON.stringify($defs)))) {
    const { id: _, ...schema } = definition as Schema & { id?: string };
    if (!(name in known)) shapes[name] = schema;
    else if (typeOf(known[name] ?? {}) !== typeOf(schema)) throw new Error(`${name} has different schemas in routes and in events`);
  }
  const payloads: Readonly<Record<string, Schema>> = JSON.parse(JSON.stringify(properties));
  const every = (type: string, category: string) => ({ type: { const: type }, category: { const: category }, at: { $ref: 'Instant' } });
  const fields = sorted(Object.fromEntries(registeredEvents)).map(([type, { category, summary }]) => {
    const { properties: own = {}, required = [] } = payloads[type] ?? {};
    const data: Schema = {
      type: 'object',
      description: summary,
      properties: { ...own, ...every(type, category) },
      required: [...required, 'type', 'category', 'at'],
    };
    return field(type, data, true);
  });
  const links = Object.fromEntries(Object.keys(RESET_LINKS).map((name) => [name, { type: 'string' }]));
  const reset: Schema = {
    type: 'object',
    description: 'Events may be missing: reload the displayed state, for example from these paths.',
    properties: { ...every('reset', 'system'), links: { type: 'object', properties: links, required: Object.keys(links) } },
    required: ['type', 'category', 'at', 'links'],
  };
  fields.push(field('reset', reset, true));
  return { shapes, events: `${comment('The data of every event, by its type.')}export interface Events {\n${fields.join('')}}\n` };
}

if (import.meta.main) {
  const text = generate();
  const isCurrent = text === readFileSync(FILE, { encoding: 'utf8', flag: 'a+' });
  if (!isCurrent) writeFileSync(FILE, text);
  process.stdout.write(`${FILE} ${isCurrent ? 'was up to date' : 'was written'}\n`);
}
