/// Where an address that the app is opened with leads.
struct DeepLink {
    static func screen(for url: String) -> String {
        "counter"
    }
}
