/**
 * One table per enum, checked both ways (the wire is total): a value added to the proto or to the union on our side,
 * or a key too many, stops the build.
 */
export type ProtoNames<Prefix extends string, E> = Exclude<
  { [K in keyof E]: K extends `${Prefix}${infer Name}` ? Name : never }[keyof E],
  'UNSPECIFIED'
>;

export interface EnumTable<Name extends string, Value extends number> {
  toProto(name: Name): Value;
  /** undefined: UNSPECIFIED, or a value that a newer peer knows and we do not. */
  fromProto(value: number): Name | undefined;
}

export function enumTable<Name extends string, Value extends number>(
  table: Readonly<Record<Name, Value>>,
): EnumTable<Name, Value> {
  const names = new Map<number, Name>();
  for (const name of Object.keys(table) as Name[]) names.set(table[name], name);
  return { toProto: (name) => table[name], fromProto: (value) => names.get(value) };
}
