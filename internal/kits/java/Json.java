import static java.util.stream.Collectors.joining;

import java.util.*;
import java.util.regex.*;

/** As much of JSON as the protocol needs. What is true or false reads as null: no request has such a field. */
final class Json {
    /** A bracket, a string, or a word. Colons and commas say nothing more. */
    private static final Pattern TOKEN = Pattern.compile("[{}\\[\\]]|\"(?:[^\"\\\\]|\\\\.)*+\"|[^\\s:,{}\\[\\]\"]+");
    private static final Pattern ESCAPED = Pattern.compile("\\\\(?:u(....)|.)");
    private static final Pattern SPECIAL = Pattern.compile("[\\x00-\\x1f\"\\\\]"); // what must be escaped
    private static final Object END = new Object(); // of an object, or of a list

    /** The fields of an object. */
    @SuppressWarnings("unchecked")
    static Map<String, Object> read(String line) { return (Map<String, Object>) value(TOKEN.matcher(line)); }

    private static Object value(Matcher tokens) {
        if (!tokens.find()) throw new IllegalArgumentException("not a JSON object");
        String token = tokens.group();
        return switch (token.charAt(0)) {
            case '{' -> {
                Map<Object, Object> fields = new HashMap<>();
                for (Object name = value(tokens); name != END; name = value(tokens)) fields.put(name, value(tokens));
                yield fields;
            }
            case '[' -> {
                List<Object> list = new ArrayList<>();
                for (Object value = value(tokens); value != END; value = value(tokens)) list.add(value);
                yield list;
            }
            case '}', ']' -> END;
            case '"' -> ESCAPED.matcher(token.substring(1, token.length() - 1)).replaceAll(Json::unescaped);
            default -> Character.isLetter(token.charAt(0)) ? null : new java.math.BigDecimal(token);
        };
    }

    private static String unescaped(MatchResult escape) {
        String code = escape.group(1), text = escape.group().replace("\\/", "/");
        return Matcher.quoteReplacement(code == null ? text.translateEscapes() : Character.toString(Integer.parseInt(code, 16)));
    }

    static String write(Object value) {
        if (value instanceof Map<?, ?> map) return map.keySet().stream().map(name -> write(name) + ":" + write(map.get(name))).collect(joining(",", "{", "}"));
        if (value instanceof Collection<?> list) return list.stream().map(Json::write).collect(joining(",", "[", "]"));
        if (value instanceof Number || value instanceof Boolean) return value.toString();
        return '"' + SPECIAL.matcher(value.toString()).replaceAll(c -> String.format("\\\\u%04x", (int) c.group().charAt(0))) + '"';
    }
}
