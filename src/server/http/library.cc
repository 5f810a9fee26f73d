// Asio and Beast are compiled once, here; the other units see declarations only (see CMakeLists.txt).
#include <boost/asio/impl/src.hpp>
#include <boost/beast/src.hpp>
