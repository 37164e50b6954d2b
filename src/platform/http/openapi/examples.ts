/** The keywords of a JSON schema that `exampleOf` uses. */
interface Schema {
  readonly $ref?: string;
  readonly description?: string;
  readonly example?: unknown;
  readonly examples?: readonly unknown[];
  readonly const?: unknown;
  readonly default?: unknown;
  readonly enum?: readonly unknown[];
  readonly oneOf?: readonly Schema[];
  readonly anyOf?: readonly Schema[];
  readonly allOf?: readonly Schema[];
  readonly type?: string | readonly string[];
  readonly format?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly items?: Schema;
  readonly minItems?: number;
  readonly minLength?: number;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly exclusiveMinimum?: number;
}

const MAX_DEPTH = 12;
const FORMATS: Record<string, string> = {
  'date-time': '2026-11-21T12:00:00.000Z',
  date: '2026-11-21',
  uuid: '0199b3a2-7c1e-7d44-9a57-2f1f5e0c9b1a',
  uri: 'https://example.com/',
};

/**
 * Creates an example value of a schema. It uses the examples that the schema declares, and otherwise the simplest value that the schema allows.
 * @param components the document's schemas by name
 * @param optional true for responses: includes all optional fields; false for requests: includes only optional fields with a declared example
 */
export function exampleOf(schema: unknown, components: Readonly<Record<string, unknown>>, optional: boolean): unknown {
  return sample(isSchema(schema) ? schema : {}, 0);

  function sample(given: Schema, depth: number): unknown {
    if (depth > MAX_DEPTH) return null;
    const found = declaredExamples(given);
    if (found.length > 0) return found[0];
    if (given.$ref !== undefined) return sample(resolve(given.$ref), depth + 1);
    const branch = (given.oneOf ?? given.anyOf)?.find((one) => one.type !== 'null');
    if (branch) return sample(branch, depth + 1);
    if (given.allOf) return Object.assign({}, ...given.allOf.map((one) => sample(one, depth + 1)));
    const type = Array.isArray(given.type) ? given.type.find((one) => one !== 'null') : given.type;
    if (type === 'object') return fields(given, depth);
    if (type === 'array') return Array.from({ length: Math.max(1, given.minItems ?? 1) }, () => sample(given.items ?? {}, depth + 1));
    if (type === 'string') return FORMATS[given.format ?? ''] ?? 'text'.padEnd(given.minLength ?? 0, '.');
    if (type === 'integer' || type === 'number') return plainNumber(given);
    return type === 'boolean' ? true : null;
  }

  function fields(given: Schema, depth: number): Record<string, unknown> {
    const required = new Set(given.required);
    const shown = Object.entries(given.properties ?? {}).filter(
      ([name, field]) => optional || required.has(name) || declaredExamples(field).length > 0,
    );
    return Object.fromEntries(shown.map(([name, field]) => [name, sample(field, depth + 1)]));
  }

  function resolve(ref: string): Schema {
    const found = components[ref.slice(ref.lastIndexOf('/') + 1)];
    return isSchema(found) ? found : {};
  }
}

/** Returns the description of a schema, or else that of the component that the schema names; '' without one. */
export function descriptionOf(schema: unknown, components: Readonly<Record<string, unknown>>): string {
  if (!isSchema(schema)) return '';
  return schema.description ?? descriptionOf(components[schema.$ref?.split('/').at(-1) ?? ''], components);
}

const isSchema = (value: unknown): value is Schema => typeof value === 'object' && value !== null;

/** Returns the example values that a schema declares, or an empty array. */
function declaredExamples(schema: Schema): readonly unknown[] {
  if (schema.example !== undefined) return [schema.example];
  if (schema.examples?.length) return schema.examples;
  if (schema.const !== undefined) return [schema.const];
  return schema.enum ?? [];
}

function plainNumber(schema: Schema): number {
  const least = schema.minimum ?? (schema.exclusiveMinimum === undefined ? Number.NEGATIVE_INFINITY : schema.exclusiveMinimum + 1);
  return Math.min(Math.max(1, least), schema.maximum ?? Number.POSITIVE_INFINITY);
}
