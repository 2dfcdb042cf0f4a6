import java.util.*;
import java.util.regex.*;
import java.util.stream.Collectors;

/** As much of JSON as the protocol needs: objects of texts, numbers, truth values, and lists of texts. What else there is in a request is passed over. */
final class Json {
    private static final String TEXT = "\"([^\"\\\\]*+(?:\\\\.[^\"\\\\]*+)*+)\"";
    private static final Pattern FIELD = Pattern.compile(TEXT + "\\s*:\\s*(?:" + TEXT + "|\\[([^\\[\\]{}]*)\\]|([-+.\\deE]+|true|false))");
    private static final Pattern WORD = Pattern.compile(TEXT);
    private static final Pattern ESCAPE = Pattern.compile("\\\\(u(....)|.)");

    private Json() {}

    /** The fields of an object. Numbers are Longs where they are whole, otherwise Doubles. */
    static Map<String, Object> read(String line) {
        Map<String, Object> fields = new HashMap<>();
        for (Matcher m = FIELD.matcher(line); m.find(); ) {
            fields.put(unescape(m.group(1)), m.group(2) != null ? unescape(m.group(2)) : m.group(3) != null ? texts(m.group(3)) : value(m.group(4)));
        }
        return fields;
    }

    static double number(Map<String, Object> fields, String name) {
        return ((Number) fields.getOrDefault(name, 0)).doubleValue();
    }

    private static List<String> texts(String list) {
        return WORD.matcher(list).results().map(m -> unescape(m.group(1))).collect(Collectors.toList());
    }

    private static Object value(String word) {
        if (word.equals("true") || word.equals("false")) return word.equals("true");
        return word.matches("-?\\d{1,18}") ? (Object) Long.valueOf(word) : Double.valueOf(word);
    }

    private static String unescape(String text) {
        return ESCAPE.matcher(text).replaceAll(m -> Matcher.quoteReplacement(m.group(2) != null ? "" + (char) Integer.parseInt(m.group(2), 16)
                : "bfnrt".contains(m.group(1)) ? "\b\f\n\r\t".substring("bfnrt".indexOf(m.group(1)), "bfnrt".indexOf(m.group(1)) + 1) : m.group(1)));
    }

    static String write(Object value) {
        if (value instanceof Map<?, ?> map) {
            return map.entrySet().stream().map(e -> write(e.getKey()) + ":" + write(e.getValue())).collect(Collectors.joining(",", "{", "}"));
        }
        if (value instanceof Collection<?> list) return list.stream().map(Json::write).collect(Collectors.joining(",", "[", "]"));
        if (value instanceof Number || value instanceof Boolean) return value.toString();
        StringBuilder text = new StringBuilder("\"");
        for (char c : String.valueOf(value).toCharArray()) text.append(c < ' ' || c == '"' || c == '\\' ? String.format("\\u%04x", (int) c) : c);
        return text + "\"";
    }
}
