/** A JSON Schema with the keywords that occur in the OpenAPI document and in the events. */
export interface Schema {
  readonly $ref?: string;
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly allOf?: readonly Schema[];
  readonly type?: string | readonly string[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: boolean | Schema;
  readonly items?: Schema;
  readonly description?: string;
}

const SHAPES = ['$ref', 'const', 'enum', 'anyOf', 'oneOf', 'allOf', 'type', 'properties', 'required', 'additionalProperties', 'items'];
/** Keywords that TypeScript types cannot express. */
const BOUNDS = [
  'minLength',
  'maxLength',
  'pattern',
  'format',
  'contentEncoding',
  'minimum',
  'maximum',
  'exclusiveMinimum',
  'exclusiveMaximum',
  'multipleOf',
];
const NOTES = [
  'minItems',
  'maxItems',
  'uniqueItems',
  'propertyNames',
  'default',
  'description',
  'title',
  'example',
  'examples',
  'deprecated',
  'readOnly',
];
const KNOWN = new Set([...SHAPES, ...BOUNDS, ...NOTES]);

/**
 * Returns the TypeScript type of a JSON Schema.
 * @throws for an unknown keyword, because a type that ignores the keyword could allow more values than the schema
 */
export function typeOf(schema: Schema): string {
  for (const keyword of Object.keys(schema)) if (!KNOWN.has(keyword)) throw new Error(`unsupported keyword ${keyword}`);
  const { $ref, enum: values, anyOf, oneOf, allOf, type } = schema;
  if ($ref !== undefined) return nameIn($ref);
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  if (values) return union(values.map((value) => JSON.stringify(value)));
  const choices = anyOf ?? oneOf;
  if (choices) return union(choices.map(typeOf));
  if (allOf) return allOf.map((part) => `(${typeOf(part)})`).join(' & ');
  if (typeof type === 'object') return union(type.map((one) => typeOf({ ...schema, type: one })));
  return plain(schema);
}

function plain(schema: Schema): string {
  switch (schema.type) {
    case undefined:
      return 'unknown';
    case 'integer':
      return 'number';
    case 'array':
      return `(${schema.items ? typeOf(schema.items) : 'unknown'})[]`;
    case 'object':
      return objectType(schema);
    case 'string':
    case 'number':
    case 'boolean':
    case 'null':
      return schema.type;
    default:
      throw new Error(`unsupported type ${String(schema.type)}`);
  }
}

function objectType({ properties = {}, required = [], additionalProperties }: Schema): string {
  const fields = Object.entries(properties).map(([name, schema]) => field(name, schema, required.includes(name)));
  const further = typeof additionalProperties === 'object' ? typeOf(additionalProperties) : null;
  if (further === null) return `{ ${fields.join('')} }`;
  const open = `{ [key: string]: ${further} }`;
  return fields.length === 0 ? open : `{ ${fields.join('')} } & ${open}`;
}

/** Returns the TypeScript text of one field of an object type, with its comment. */
export const field = (name: string, schema: Schema, isRequired: boolean): string =>
  `${comment(schema.description)}${/^\w+$/.test(name) ? name : JSON.stringify(name)}${isRequired ? '' : '?'}: ${typeOf(schema)};\n`;

/** Returns a doc comment on its own lines; '' without text. */
export function comment(text: string | undefined): string {
  if (!text) return '';
  const lines = text.replaceAll('*/', '*\\/').split('\n');
  return lines.length === 1 ? `\n/** ${lines[0]} */\n` : `\n/**\n${lines.map((line) => ` * ${line}`.trimEnd()).join('\n')}\n */\n`;
}

const union = (types: readonly string[]): string => [...new Set(types)].join(' | ');

/** Returns the name at the end of a `$ref`. */
export const nameIn = (reference: string): string => reference.slice(reference.lastIndexOf('/') + 1);
